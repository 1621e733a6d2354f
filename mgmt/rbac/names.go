package rbac

import (
	"regexp"
	"slices"
)

// The forms of names (api-reference §1.4; by the specification, the name of a user may begin
// with a digit).
var (
	userForm = regexp.MustCompile(`^[a-z0-9][-a-z0-9_.]*$`)
	nameForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
)

// Limits for stored data, because every request reads some of it.
const (
	maxName   = 64
	maxUsers  = 1000
	maxGroups = 500
	maxRoles  = 200
)

// Root is the name of the user who may do everything.
const Root = "root"

// reserved are names that no user may have: root's, and names with another meaning in paths
// of the product family.
var reserved = []string{"0", Root, "zapi"}

func checkUserName(name string) error {
	switch {
	case slices.Contains(reserved, name):
		return invalid("name: %q is reserved", name)
	case len(name) > maxName || !userForm.MatchString(name):
		return invalid("name: %.80q is not allowed, allowed are lower case letters, digits, hyphens, dots and underscores, beginning with a letter or digit, at most %d", name, maxName)
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "0":
		return invalid("name: %q is reserved", name)
	case len(name) > maxName || !nameForm.MatchString(name):
		return invalid("name: %.80q is not allowed, allowed are letters, digits, hyphens and underscores, at most %d", name, maxName)
	}
	return nil
}
