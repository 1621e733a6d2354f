package rdata_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/rdata"
)

// A secondary gets bytes, not text: BIND loads the data of each accepted line in the generic
// format, too, which it checks as it checks the messages of a transfer.
func TestSecondariesAcceptDataOfAllTypes(t *testing.T) {
	bind, err := exec.LookPath("named-checkzone")
	if err != nil {
		t.Skip("named-checkzone is not installed")
	}
	table, err := os.Open("testdata/data.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	var zone strings.Builder
	zone.WriteString("$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n")
	var texts []string
	for lines := bufio.NewScanner(table); lines.Scan(); {
		sign, text, _ := strings.Cut(lines.Text(), " ")
		kind, data, _ := strings.Cut(text, " ")
		of, known := rdata.TypeOf(kind)
		if sign != "+" && sign != ">" || !known || of == "NS" || of == "DNAME" {
			continue
		}
		if bytes, err := rdata.CheckMaster(of, strings.TrimSpace(data), "example.com."); err == nil {
			fmt.Fprintf(&zone, "x%d TYPE%d \\# %d %x\n", len(texts), rdata.Code(of), len(bytes), bytes)
			texts = append(texts, text)
		}
	}
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte(zone.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	const head = 4 // lines
	if out, err := exec.Command(bind, "-k", "ignore", "-i", "none", "example.com", file).CombinedOutput(); err != nil {
		for at := range texts {
			if strings.Contains(string(out), fmt.Sprintf("%s:%d:", file, head+at+1)) {
				t.Errorf("BIND does not load the bytes of %s", texts[at])
			}
		}
		t.Error(string(out))
	}
}
