// Package rbac holds the rights of users: users, the groups they are in, and the roles of
// groups (api-reference §14.1).
//
// A user is in one group at most, a group has one role at most, and a role is a set of
// permissions. A user without a group, or in a group without a role, may do only what every
// known user may. Farms and virtual interfaces belong to groups: users see and change only
// those of their own group. Root is an exception and may do everything.
//
// A Book holds all of it in memory and stores it through a Keeper. A change is stored
// before it takes effect, and takes effect for the next request. Passwords are stored as
// argon2id, keys as SHA-256, since they are too long to be guessed.
package rbac
