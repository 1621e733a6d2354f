// Package directory checks passwords of users with an LDAP directory (RFC 4511): it finds
// the entry of the user with a filter, and binds as that entry with the password.
//
// User input never becomes syntax of a filter. An empty password is never sent, since
// directories treat it as an anonymous bind and accept it. The time and size of answers are
// limited. TLS is the default; a plain connection must be configured. The password for
// searches is stored sealed, is not shown, and is sent only to the host it was entered for.
package directory
