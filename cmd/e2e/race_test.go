//go:build race

package e2e_test

// raceBuild means that the tests and the appliance run under the race detector.
const raceBuild = true
