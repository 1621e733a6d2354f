// Package document reads and writes the configuration as people see it: the
// YAML (or JSON) file of apply and export, and the difference of two of them.
package document
