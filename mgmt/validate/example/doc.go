// Package example holds an example value of each field, by the name of the field.
package example
