//go:build race

package e2e_test

// raceBuild: the tests run under the race detector, so the appliance does too.
const raceBuild = true
