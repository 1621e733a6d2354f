// Package rbac says who may do what: users, the groups they are in, and the roles
// of groups (api-reference §14.1).
//
// A user is in one group at most, a group has one role at most, and a role is a set
// of permissions. Who has no group, or whose group has no role, may do what is open
// to everybody who is known, and nothing else. Farms and virtual interfaces belong
// to groups: users see and change those of their own group only. Root is no such
// user: root may do everything.
//
// A Book holds all of it in memory and keeps it through a Keeper: a change is
// written before it holds, and holds for the next request. Passwords are kept as
// argon2id, keys as SHA-256 (they are long enough that no guess finds them).
package rbac
