// Package people has the fields of users, groups, roles and logins.
package people
