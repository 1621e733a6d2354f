// Package auth says who asks and what that one may do.
//
// There are two ways in, and every request takes one of them:
//
//   - an API key in the header ZAPI_KEY or ZAPI-KEY; mgmt/store keeps the keys
//     and compares them in constant time. Wrong keys are counted per source
//     address, and a source with too many is refused for a while, right key or
//     not.
//   - the local control socket: the kernel says which user is at the other
//     end, and root or the user Sluice runs as act as root. No header can give
//     or take this way.
//
// Nothing here depends on a header that another hop may add or remove, apart
// from the key itself. All types may be used from any goroutine.
package auth
