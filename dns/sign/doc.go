// Package sign signs answers on demand (RFC 4034, RFC 4035) and caches the signatures, so
// that frequent answers are signed once. Missing names and types are denied in the compact
// way (RFC 9824): an answer describes only the queried name, not its neighbours.
package sign
