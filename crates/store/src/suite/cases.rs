//! The list of the cases, and the macro that makes tests of them.

/// Makes a `#[tokio::test]` of every case. The harness is an expression that each test evaluates anew; it may await.
///
/// ```ignore
/// store::task_store_suite!(RedisHarness::start().await);
/// ```
#[macro_export]
macro_rules! task_store_suite {
    ($harness:expr) => {
        mod task_store {
            #[allow(unused_imports)]
            use super::*;
            $crate::task_store_cases!({ $crate::task_store_tests }[$harness]);
        }
    };
}

/// Expands the list to tests, in a module for each file of the suite.
#[doc(hidden)]
#[macro_export]
macro_rules! task_store_tests {
    ([$harness:expr] $($module:ident { $($case:ident,)+ })+) => {
        $(
            mod $module {
                #[allow(unused_imports)]
                use super::*;
                $crate::task_store_tests!(@module [$harness] $module $($case)+);
            }
        )+
    };
    (@module [$harness:expr] $module:ident $($case:ident)+) => {
        $(
            #[tokio::test]
            async fn $case() {
                let harness = $harness;
                $crate::suite::$module::$case(&harness).await;
            }
        )+
    };
}

/// Every case, by file, handed to another macro after its own arguments in brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! task_store_cases {
    ({ $($then:tt)+ } [$($given:tt)*]) => {
        $($then)+! {
            [$($given)*]
            admit {
                a_submission_becomes_one_task,
                a_new_task_has_no_past,
                a_rejected_submission_is_dead_at_once,
                only_the_first_of_a_queue_asks_for_a_hint,
                the_short_way_dispatches_where_nothing_waits,
                a_late_start_is_refused_as_expired,
                a_given_reason_goes_before_our_own,
                a_call_that_mixes_partitions_does_nothing,
            }
            audit {
                a_task_is_seen_where_it_stands,
                tasks_are_chosen_by_their_id,
                pages_and_counters_agree,
                the_outbox_is_read_in_order,
            }
            batches {
                a_batch_counts_its_tasks,
                a_batch_counts_what_was_removed,
                one_bad_end_fails_alone,
                one_bad_operation_fails_alone,
                a_full_batch_passes,
                an_empty_call_is_answered,
            }
            by_hand {
                a_trigger_by_hand_is_of_now,
                a_trigger_by_hand_with_the_same_key_is_one,
                by_hand_tasks_wait_their_turn,
                too_many_by_hand_are_refused,
                a_backfill_fires_what_did_not,
                a_backfill_counts_once_within_a_call,
                a_backfill_takes_instants_out_of_a_range,
                a_new_incarnation_has_instants_of_its_own,
                a_backfill_keeps_to_the_past,
                a_trigger_by_hand_is_no_planned_instant,
                by_hand_calls_are_checked,
                a_backfill_waits_behind_what_runs,
            }
            seals {
                the_first_word_on_a_batch_stands,
                a_batch_ends_when_as_many_rows_as_were_said_have_ended,
                the_first_task_that_follows_stands,
                a_batch_that_nothing_follows_is_never_told,
                a_batch_without_rows_ends_at_once,
                many_sealed_batches_are_gone_through_in_parts,
                what_is_no_type_can_not_follow,
                counts_leave_some_time_after_the_last_task,
                counts_stay_while_something_is_to_follow,
            }
            bytes {
                a_payload_is_kept_exactly,
                results_and_outputs_are_kept_exactly,
                texts_are_kept_exactly,
                large_numbers_are_kept,
            }
            clock {
                the_clock_never_runs_backward,
                time_passes,
            }
            counters {
                counters_follow_every_verb,
                a_queue_tells_its_length_and_age,
                partitions_count_for_themselves,
            }
            dispatch {
                a_task_is_dispatched_once,
                a_dispatch_is_bounded_and_says_what_is_left,
                a_dispatch_names_the_types_that_wait,
                an_old_hint_makes_the_task_ready_again,
                a_claim_needs_a_dispatch,
                undispatch_puts_back_in_line,
                an_id_that_is_named_twice_goes_back_once,
                a_claim_keeps_its_times,
            }
            due {
                a_delay_ends_in_its_time,
                an_instant_may_be_named,
                a_retry_waits_for_its_backoff,
                a_release_is_bounded,
                a_release_names_its_queues,
                a_repeated_release_moves_nothing,
            }
            epochs {
                a_new_store_has_an_epoch_and_keeps_it,
                a_store_that_lost_its_data_does_nothing_more,
                another_epoch_is_not_taken_for_the_old_one,
                what_is_said_to_be_lost_is_not_ready,
            }
            fairness {
                types_take_turns,
                a_late_type_neither_waits_nor_catches_up,
                inside_a_type_the_oldest_goes_first,
                by_age_the_oldest_of_all_types_goes_first,
                tiers_have_queues_of_their_own,
            }
            fences {
                a_wrong_token_writes_nothing,
                a_lost_lease_stays_lost,
                tokens_grow,
                a_task_is_claimed_once,
                a_missing_task_is_missing,
            }
            fires {
                a_fire_is_a_record_and_a_task,
                a_fire_is_seen_in_ledger_and_plan,
                two_schedulers_with_one_cursor_fire_once,
                a_refused_firing_leaves_the_others_alone,
                a_fire_past_the_clock_is_refused,
                a_decision_is_kept_until_it_is_carried_out,
                a_known_key_makes_no_second_task,
                a_full_slice_passes,
                a_fire_is_admitted_as_any_task,
                a_firing_that_makes_no_sense_is_an_error,
            }
            idempotency {
                the_same_key_is_the_same_task,
                another_payload_is_a_conflict,
                the_same_id_is_the_same_task,
                a_key_counts_once_within_a_call,
                another_type_has_keys_of_its_own,
                a_key_lives_while_its_task_does,
                a_key_outlives_its_task_until_its_window_ends,
                a_key_past_its_window_goes_with_its_task,
            }
            leases {
                an_expired_lease_is_reclaimed,
                a_renewed_lease_is_not_reclaimed,
                a_lease_is_renewed_past_its_end,
                a_run_may_end_past_its_lease,
                after_an_outage_heartbeats_come_first,
                a_short_silence_is_no_outage,
                too_many_losses_are_poison,
                losses_are_forgotten_after_a_day,
                a_reclaim_is_bounded,
                a_repeated_reclaim_takes_nothing,
                a_duty_has_one_owner,
            }
            listing {
                each_filter_picks_its_tasks,
                filters_together_pick_what_passes_all,
                a_list_shows_whole_tasks,
                pages_have_no_gap_and_no_repeat,
                a_list_goes_over_the_partitions,
                a_made_up_cursor_is_refused,
            }
            matrix {
                claim_on_every_status,
                complete_on_every_status,
                fail_on_every_status,
                overrun_on_every_status,
                reclaim_on_every_status,
                hand_back_on_every_status,
                stopped_on_every_status,
                cancel_on_every_status,
                retry_on_every_status,
                reset_on_every_status,
                set_on_every_status,
                without_retries_left_a_failure_is_dead,
            }
            operate {
                a_waiting_task_is_cancelled_at_once,
                a_dead_task_is_retried_by_hand,
                a_waiting_task_is_reset_to_now,
                set_changes_fields_alone,
                set_keeps_the_place_in_line,
                set_moves_the_due_time,
                the_person_stands_in_the_timeline,
                a_timeline_keeps_the_newest,
            }
            outbox {
                each_transition_is_announced_once,
                an_event_carries_what_its_readers_need,
                an_event_carries_the_time_of_its_step,
                a_reply_has_its_entry,
                removed_entries_are_gone,
                young_entries_are_left_alone,
                a_repeat_puts_no_entry_back,
            }
            overlap {
                allow_fires_whatever_lives,
                skip_fires_only_where_nothing_lives,
                queue_blocks_as_many_as_it_may,
                every_end_lets_the_next_one_go,
                expiry_and_poison_are_ends,
                cancel_previous_ends_what_waits,
                cancel_previous_waits_for_what_runs,
                fires_of_one_slice_overlap,
                a_retried_task_lives_again,
                a_blocked_task_obeys_a_person,
                one_call_may_end_several,
                a_name_keeps_its_live_tasks,
                a_changed_policy_holds_from_the_next_fire,
            }
            paused {
                a_paused_type_is_not_dispatched,
                a_paused_type_is_not_claimed,
                a_pause_lets_runs_end,
                a_paused_type_takes_no_short_way,
                types_are_kept_under_a_version,
            }
            plan_ends {
                the_last_fire_ends_the_schedule,
                a_finished_schedule_may_be_given_more_fires,
                a_schedule_without_a_next_instant_has_finished,
            }
            plan_matrix {
                every_verb_on_every_state,
            }
            plan_pauses {
                a_pause_holds_and_says_who,
                a_pause_takes_a_decision_and_nothing_else,
                a_resume_makes_due_what_came_in_between,
                pauses_without_records_between_count_as_one,
            }
            plans {
                a_put_creates_a_schedule,
                the_same_definition_keeps_the_cursor,
                a_changed_definition_anchors_at_now,
                a_change_of_what_moved_is_refused,
                an_anchor_is_the_stores_clock,
                a_removed_schedule_never_fires_again,
                a_new_one_of_the_same_name_is_a_new_incarnation,
                schedules_are_listed_by_name,
                what_is_due_comes_oldest_first,
                a_call_for_another_partition_does_nothing,
                calendars_have_versions,
            }
            random {
                random_sequences,
            }
            record {
                transitions_are_counted_by_status,
                a_repeat_counts_nothing,
                any_order_counts_the_same,
                a_new_stream_starts_anew,
                a_fresh_store_has_recorded_nothing,
                what_is_not_recorded_is_told_again,
                what_leaves_meanwhile_shifts_nothing,
                the_most_attempts_of_late_are_known_by_type,
            }
            retain {
                each_status_has_its_age,
                what_is_not_recorded_stays,
                a_later_transition_must_be_recorded_too,
                over_the_count_the_oldest_leave,
                a_removal_is_bounded_and_counted,
                a_revived_task_stays,
                a_repeated_removal_removes_nothing,
            }
            stop {
                a_running_task_is_cancelled_when_it_ended,
                a_running_task_is_reset_when_it_ended,
                the_last_stop_counts,
                a_stop_must_have_been_asked,
                a_run_may_end_before_it_saw_the_stop,
                a_handed_back_task_obeys_a_cancel,
                a_reclaimed_task_obeys_a_cancel,
                a_hand_back_spends_nothing,
            }
            triggers {
                records_are_listed_by_instant,
                records_of_one_instant_are_each_shown,
                records_leave_by_age,
                a_retention_of_records_is_bounded,
                the_newest_records_are_kept,
            }
            watch {
                a_lease_is_seen_while_a_task_runs,
                the_first_to_pause_is_kept,
                what_runs_is_listed,
                run_times_are_counted_once_and_forgotten,
            }
        }
    };
}
