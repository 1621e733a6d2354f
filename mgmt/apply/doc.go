// Package apply is the one writer of the configuration: it checks a change,
// publishes it to the engines, and keeps it only when they took it.
package apply
