package l7test

import (
	"flag"
	"os"
	"testing"
)

// Main runs the tests of a package, more at a time than there are CPUs: nearly all
// of their time is waiting for somebody to be late.
func Main(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "12")
	}
	os.Exit(m.Run())
}
