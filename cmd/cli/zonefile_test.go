package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli"
)

func TestAFileIsCheckedWithoutAnAppliance(t *testing.T) {
	for file, want := range map[string]string{
		"@ SOA ns1 hostmaster 7 1 2 3 4\n@ NS ns1\nns1 A 192.0.2.53\nwww DYNA shop\nwww RRSIG A 13 3 300 20270101000000 20260101000000 1 example.com. AAAA\n": "FILE: 4 records of zone example.com.\nsluice: warning: 1 records of type RRSIG are omitted: servers generate them\n",
		"@ NS ns1\n":          "FILE: 1 records of zone example.com.\nsluice: warning: zone example.com: its name server ns1 has no address yet; add a record ns1 of type A\n",
		"www A 192.0.2.300\n": "FILE: line 1: \"192.0.2.300\" is no data of A: it is an IPv4 address, as 192.0.2.1\nsluice: the file cannot be imported\n",
		"a DYNA s\nb A ::1\na A 1.2.3.4": "FILE: line 2: \"::1\" is no data of A: it is an IPv4 address, as 192.0.2.1\n" +
			"FILE: line 3: type DYNA gives all addresses of its name, and a has others; remove these, or add them to the service\nsluice: the file cannot be imported\n",
		"@ NS ns1\nwww ALIAS shop.example.net.\nftp ALIAS www\nns1 DYNA s\n": "FILE: 4 records of zone example.com.\n",
		"a ALIAS 192.0.2.1.\nb A 192.0.2.1\nb ALIAS a\n": "FILE: line 1: rdata must be a host name with type ALIAS, got \"192.0.2.1.\": an address is a record of type A or AAAA\n" +
			"FILE: line 3: type DYNA gives all addresses of its name, and b has others; remove these, or add them to the service\nsluice: the file cannot be imported\n",
		"a DYNA s\na A 1.2.3.4\n": "FILE: line 2: type DYNA gives all addresses of its name, and a has others; remove these, or add them to the service\nsluice: the file cannot be imported\n",
	} {
		name := filepath.Join(t.TempDir(), "db")
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		r := execute("", "zone", "check", "example.com", name)
		if got := strings.ReplaceAll(r.stdout+r.stderr, name, "FILE"); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", file, got, want)
		}
	}
}

func TestZonesAreImportedAndExported(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "names", "vip=127.0.0.1", "vport=5300", "profile=gslb")
	a.must("zone", "create", "names", "example.com")
	if out := a.must("zone", "import", "names", "example.com", "testdata/db.example.com", "--dry-run"); !strings.Contains(out, "+") || !strings.Contains(out, "192.0.2.53") {
		t.Error(out)
	}
	faulty := filepath.Join(t.TempDir(), "faulty")
	if err := os.WriteFile(faulty, []byte("a A 1\nb A 192.0.2.1\nb CNAME c\nd ALIAS 192.0.2.1.\ne FOO\n"+strings.Repeat("f A 2\n", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := a.run("zone", "import", "names", "example.com", faulty); !strings.Contains(r.stderr, "line 1: ") || !strings.Contains(r.stderr, "; line 3: type CNAME") || !strings.Contains(r.stderr, "; line 4: rdata must be a host name") || !strings.Contains(r.stderr, "; line 5: ") || !strings.Contains(r.stderr, "104 more lines are faulty") {
		t.Errorf("%s", r.stderr)
	}
	if out := a.must("zone", "export", "names", "example.com"); !strings.Contains(out, "0.0.0.0") {
		t.Errorf("it was only tried: %s", out)
	}
	if out := a.must("zone", "import", "names", "example.com", "testdata/db.example.com"); !strings.Contains(out, "it has 3 records") {
		t.Error(out)
	}
	r := a.feed("ftp A 192.0.2.21\n", "zone", "import", "names", "example.com", "-", "--add")
	if out := a.must("zone", "export", "names", "example.com"); r.code != 0 || !strings.HasSuffix(out, "www\tIN\tA\t192.0.2.1\nftp\t3600\tIN\tA\t192.0.2.21\n") {
		t.Errorf("%+v: %s", r, out)
	}
}

func TestManyRecordsAreChangedAtOnce(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "names", "vip=127.0.0.1", "vport=5300", "profile=gslb")
	a.must("zone", "create", "names", "example.com")
	if out := a.must("record", "bulk", "names", "example.com", "testdata/records.json", "--dry-run"); !strings.Contains(out, "+") || !strings.Contains(out, "192.0.2.21") {
		t.Error(out)
	}
	if out := a.must("record", "bulk", "names", "example.com", "testdata/records.json"); !strings.Contains(out, "2 added, 1 changed, 1 deleted") {
		t.Errorf("it was only tried before: %s", out)
	}
	if r := a.feed(`{"delete": [1, 99]}`, "record", "bulk", "names", "example.com", "-"); r.code == 0 || !strings.Contains(r.stderr, "delete[1].id: the resource 99 does not exist") {
		t.Errorf("%+v", r)
	}
}

// Backends of a gslb farm have no port and are written without one.
func TestABackendOfAZoneIsAnAddress(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "names", "vip=127.0.0.1", "vport=5300", "profile=gslb")
	a.must("service", "create", "names", "web", "algorithm=prio")
	a.must("backend", "create", "names", "web", "192.0.2.1")
	a.must("backend", "create", "names", "web", "2001:db8::1", "alias=six")
	if out := a.must("backend", "list", "names", "web"); !strings.Contains(out, "192.0.2.1") || !strings.Contains(out, "2001:db8::1") {
		t.Error(out)
	}
}

// A file replaces all records, so on a terminal the removal of records needs confirmation.
func TestRecordsThatAFileLacksAreAskedAbout(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "names", "vip=127.0.0.1", "vport=5300", "profile=gslb")
	a.must("zone", "create", "names", "example.com")
	a.must("record", "create", "names", "example.com", "old", "A", "192.0.2.77")
	t.Setenv("TERM", "dumb")
	for _, c := range []struct {
		flags, answer string
		done          bool
	}{{"", "n", false}, {" --add", "", false}, {"", "y", true}} {
		var steps []step
		if c.answer != "" {
			steps = []step{{"[y/N] ", c.answer + "\r"}}
		}
		shown := talk(t, steps, func(tty *os.File) {
			cli.Execute(append([]string{"--data", a.data}, strings.Fields("zone import names example.com testdata/db.example.com"+c.flags)...), tty, tty, tty)
		})
		kept := strings.Contains(a.must("zone", "export", "names", "example.com"), "192.0.2.77")
		if kept == c.done || c.answer != "" && !strings.Contains(shown, "of zone example.com") {
			t.Errorf("%q answered %q: the record exists: %v\n%s", c.flags, c.answer, kept, shown)
		}
	}
}
