package gslbfarm_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/zonefile"
)

// zoneHead begins the zones of the table, unless their text is after an exclamation mark.
const zoneHead = "$TTL 300\n@ IN SOA ns1 hostmaster 1 3600 600 604800 300\n@ IN NS ns1\nns1 IN A 192.0.2.53\n"

// Each line of the table has a zone, after a sign. BIND loads a zone with + and does not load
// one with -. Zones with < are loaded by BIND and rejected by us, because Knot or NSD reject
// them or they are meaningless. Zones with > are the opposite: only BIND's file parser rejects
// them, or we warn. A zone that both load has the same records.
func TestZonesAreThoseThatBINDLoads(t *testing.T) {
	table, err := os.Open("testdata/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	lines := bufio.NewScanner(table)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		sign, quoted, _ := strings.Cut(lines.Text(), " ")
		sign, whole := strings.CutPrefix(sign, "!")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if !whole {
			text = zoneHead + text
		}
		zone, problems := readZone(text)
		if ours := sign == "+" || sign == ">"; ours != (len(problems) == 0) {
			t.Errorf("%s: %q", lines.Text(), problems)
		}
		loaded, err := compileZone(t, text)
		if err == exec.ErrNotFound {
			continue
		}
		if loads := sign == "+" || sign == "<"; loads != (err == nil) {
			t.Errorf("BIND: %s: %v", lines.Text(), err)
		}
		if sign != "+" {
			continue
		}
		if again, err := compileZone(t, string(zonefile.Text(farm.DefaultGSLB(), &zone))); err != nil ||
			!slices.Equal(again, loaded) {
			t.Errorf("%s: BIND reads\n%s\nand what is exported as %v\n%s", lines.Text(), strings.Join(loaded, "\n"), err, strings.Join(again, "\n"))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// readZone returns the zone of a file and its problems.
func readZone(text string) (farm.Zone, []string) {
	read := zonefile.Parse([]byte(text), "example.com")
	var problems []string
	for _, p := range read.Problems {
		problems = append(problems, p.Error())
	}
	gslbfarm.CheckRecordsAlone(&read.Zone, func(i int, err field.Error) bool {
		problems = append(problems, zonefile.Problem{Line: read.Lines[i], Text: err.Message}.Error())
		return true
	})
	return read.Zone, problems
}

// compileZone returns the records that BIND reads from a zone, exec.ErrNotFound without BIND.
func compileZone(t *testing.T, text string) ([]string, error) {
	tool, err := exec.LookPath("named-compilezone")
	if err != nil {
		return nil, exec.ErrNotFound
	}
	file := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-q", "-k", "ignore", "-i", "local", "-s", "full", "-o", "-", "example.com", file).Output()
	var records []string
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 3 && !generatedTypes[words[3]] {
			records = append(records, strings.ToLower(strings.Join(words, " "))) // of names that differ in case, BIND may keep any
		}
	}
	slices.Sort(records)
	return records, err
}

// generatedTypes are the types that signed zones have in their files and Sluice generates.
var generatedTypes = map[string]bool{"RRSIG": true, "NSEC": true, "NSEC3PARAM": true, "DNSKEY": true, "CDS": true, "CDNSKEY": true, "ZONEMD": true}
