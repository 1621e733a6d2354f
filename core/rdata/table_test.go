package rdata_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/rdata"
)

// Each line of the table has data of a type, after a sign. BIND loads a zone with + and
// does not load one with -. Lines with < are data that BIND loads and we reject,
// because others reject them or they are meaningless. Lines with > are the opposite:
// only BIND's file parser rejects them, a secondary accepts them.
func TestDataOfAllTypesIsLoadedByBIND(t *testing.T) {
	bind, _ := exec.LookPath("named-checkzone")
	table, err := os.Open("testdata/data.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	file := filepath.Join(t.TempDir(), "zone")
	for lines := bufio.NewScanner(table); lines.Scan(); {
		sign, text, _ := strings.Cut(lines.Text(), " ")
		kind, data, _ := strings.Cut(text, " ")
		ours, loads := sign == "+" || sign == ">", sign == "+" || sign == "<"
		known, ok := rdata.TypeOf(kind)
		if ok {
			_, err := rdata.CheckMaster(known, strings.TrimSpace(data), "example.com.")
			ok = err == nil
		}
		if ok != ours {
			t.Errorf("%s: accepted is %v, want %v", lines.Text(), ok, ours)
		}
		if bind == "" {
			continue
		}
		zone := "$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nx " + text + "\n"
		if err := os.WriteFile(file, []byte(zone), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(bind, "-k", "ignore", "-i", "none", "example.com", file).CombinedOutput(); err == nil != loads {
			t.Errorf("BIND: %s: %s", lines.Text(), out)
		}
	}
}
