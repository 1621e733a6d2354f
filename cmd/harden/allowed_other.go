//go:build !amd64 && !arm64

package harden

// This architecture has no filter; Status shows that.
const (
	auditArch = 0
	x32Bit    = 0
	newest    = 0
)

var engineFilter, helperFilter, hostFilter, managerFilter, programsFilter, programFilter, programAloneFilter filter
