// Package auth identifies the sender of a request. Package mgmt/rbac holds the rights of
// the sender.
//
// There are three kinds of credentials, and every request uses one of them:
//
//   - an API key in the header ZAPI_KEY or ZAPI-KEY: a numbered key of mgmt/store, or
//     the key of a user. Keys are compared in constant time.
//   - the cookie of a session, which began with a user and a password (POST /session).
//   - the local control socket: the kernel reports the user at the other
//     end, and root or the user Sluice runs as act as root. No header can grant
//     or revoke this.
//
// Guesses at passwords and codes are counted by user and by source address before they are
// checked. After too many wrong ones both are refused for a while, right or not. Wrong keys
// only slow down other keys. See Ledger.
//
// Apart from the credential itself, nothing here depends on a header that another hop may
// add or remove. All types may be used from any goroutine.
package auth
