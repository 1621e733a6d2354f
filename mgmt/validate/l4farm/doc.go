// Package l4farm has the fields and rules of l4xnat farms and their backends.
package l4farm
