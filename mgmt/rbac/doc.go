// Package rbac holds the rights of users: users, the groups they are in, and the roles of
// groups (api-reference §14.1).
//
// A user is in at most one group, a group has at most one role, and a role is a set of
// permissions. A user without a group, or in a group without a role, has only the permission
// Open. Farms and virtual interfaces belong to groups, and users see and change only their
// own group's. Root is an exception and has all rights.
//
// A Book holds all of it in memory and stores it through a Keeper. A change is stored before
// it takes effect, and applies to the next request. Passwords are stored as argon2id hashes.
// SHA-256 suffices for keys, because they are too long to be guessed.
package rbac
