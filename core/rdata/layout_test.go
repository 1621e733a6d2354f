package rdata_test

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// The text of data is read as the same data, for each type. So a zone survives its file.
func TestDataSurviveTheirText(t *testing.T) {
	table, err := os.Open("testdata/data.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for lines := bufio.NewScanner(table); lines.Scan(); {
		sign, text, _ := strings.Cut(lines.Text(), " ")
		kind, data, _ := strings.Cut(text, " ")
		of, known := rdata.TypeOf(kind)
		if sign != "+" && sign != ">" || !known {
			continue
		}
		first, err := rdata.CheckMaster(of, strings.TrimSpace(data), "example.com.")
		if err != nil {
			continue // another test reports it
		}
		again := rdata.Text(rdata.Code(of), first)
		if second, err := rdata.CheckMaster(of, again, "."); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s becomes %s: %x, %x, %v", text, again, first, second, err)
		}
	}
}

// The errors of types without a form of their own in the library describe their data.
func TestErrorsDescribeTheDataOfTheirType(t *testing.T) {
	for _, kind := range strings.Fields("WKS X25 ISDN RT NSAP NSAP-PTR PX GPOS EID NIMLOC ATMA A6 SINK NINFO RKEY TALINK DSYNC HHIT BRID KEY MB MG MR MINFO AVC DOA AMTRELAY RESINFO WALLET CLA IPN TA DLV") {
		of, known := rdata.TypeOf(kind)
		_, err := rdata.Check(farm.RecordType(kind), "", "example.com")
		if !known || string(of) != kind || err == nil || strings.Contains(err.Error(), "c0000201") {
			t.Errorf("%s: %v, %v", kind, of, err)
		}
	}
	if of, _ := rdata.TypeOf("TYPE40"); of != "SINK" {
		t.Errorf("TYPE40 is %s, want %s", of, "SINK")
	}
}
