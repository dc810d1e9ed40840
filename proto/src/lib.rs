//! Wire types of Gengfu, generated from the .proto files beside them.
