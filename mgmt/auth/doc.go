// Package auth identifies the sender of a request; what it may do, mgmt/rbac says.
//
// There are three ways in, and every request takes one of them:
//
//   - an API key in the header ZAPI_KEY or ZAPI-KEY: a numbered one of mgmt/store, or
//     the one of a user. Keys are compared in constant time.
//   - the cookie of a session, which began with a user and a password (POST /session).
//   - the local control socket: the kernel says which user is at the other
//     end, and root or the user Sluice runs as act as root. No header can give
//     or take this way.
//
// Guesses at passwords and codes are counted by user and by source address before they
// are checked; with too many wrong ones both are refused for a while, right or not. Wrong
// keys slow down wrong keys alone. See Ledger.
//
// Nothing here depends on a header that another hop may add or remove, apart
// from the credential itself. All types may be used from any goroutine.
package auth
