//go:build !cgo

package harden_test

const builtWithCgo = false
