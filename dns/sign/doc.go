// Package sign signs answers as they are asked for (RFC 4034, RFC 4035) and keeps the
// signatures, so that what is asked often is signed once. That a name, or a type of it, is
// not there is said in the compact way (RFC 9824): an answer tells what is at the name
// alone, and nothing of the names around it.
package sign
