//go:build !amd64 && !arm64

package harden

// No filter was written for this architecture; Status shows it.
const (
	auditArch = 0
	x32Bit    = 0
	newest    = 0
)

var engineFilter, helperFilter, hostFilter, managerFilter, programsFilter, programFilter, programAloneFilter filter
