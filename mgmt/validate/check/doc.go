// Package check has the fields and rules of health checks, and their templates.
package check
