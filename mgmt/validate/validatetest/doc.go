// Package validatetest helps the tests of validate and its packages: valid farms and zones
// to break, and functions that apply a body to a farm.
package validatetest
