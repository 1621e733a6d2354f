package proxy_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests run at a time than there are CPUs: nearly all of
// their time is waiting for somebody to be late.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "12")
	}
	os.Exit(m.Run())
}
