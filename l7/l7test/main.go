package l7test

import (
	"flag"
	"os"
	"testing"
)

// Main runs the tests of a package with more parallelism than there are CPUs, because nearly
// all of their time is spent waiting for timeouts.
func Main(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", "12")
	}
	os.Exit(m.Run())
}

// CatchOutput captures standard output until out is called.
func CatchOutput(t testing.TB) (out func() string) {
	t.Helper()
	stdout := os.Stdout
	f, err := os.CreateTemp(t.TempDir(), "h2spec")
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = f
	return func() string {
		os.Stdout = stdout
		b, _ := os.ReadFile(f.Name())
		_ = f.Close()
		return string(b)
	}
}
