// Package directory asks a directory that speaks LDAP (RFC 4511) whether a password is
// that of a user: it finds the one entry of the user with a filter, and binds as that
// entry with the password.
//
// What people type is never a part of the language of filters, an empty password is
// never sent (directories take it for an anonymous bind, and say yes), and what the
// directory sends is bounded in time and size. TLS is what it begins with; a plain
// connection has to be asked for. The password it binds with to search is kept sealed,
// is not shown, and goes to no other host than it was given for.
package directory
