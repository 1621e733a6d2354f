package rdata_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// New data with parentheses keep them, or get an error. Stored data of types
// with a layout are served with them.
func TestTextsKeepTheirParentheses(t *testing.T) {
	for _, c := range []struct {
		of           farm.RecordType
		text         string
		packed, kept string // kept is empty if new data are refused
	}{
		{"URI", `10 1 https://x/A_(b)`, "\x00\x0a\x00\x01https://x/A_(b)", ""},
		{"URI", `10 1 (b)`, "\x00\x0a\x00\x01(b)", ""},
		{"URI", `10 1 https://x/A_\(b\)`, "\x00\x0a\x00\x01https://x/A_(b)", "\x00\x0a\x00\x01https://x/A_(b)"},
		{"URI", `10 1 "https://x/A_(b)"`, "\x00\x0a\x00\x01https://x/A_(b)", "\x00\x0a\x00\x01https://x/A_(b)"},
		{"URI", `10 1 https://x/A_b\\)`, "\x00\x0a\x00\x01https://x/A_b\\)", ""},
		{"URI", `( 10 1 x )`, "\x00\x0a\x00\x01x", "\x00\x0a\x00\x01x"},
		{"URI", `(10 1 "x")`, "\x00\x0a\x00\x01x", ""},
		{"URI", `(10 1 "x)")`, "\x00\x0a\x00\x01x)", ""},
		{"WALLET", `BTC (a)`, "\x03BTC\x03(a)", ""},
		{"CLA", `a(b b)`, "\x03a(b\x02b)", ""},
		{"DOA", `0 1 2 a(b) AQID`, "\x00\x00\x00\x00\x00\x00\x00\x01\x02\x04a(b)\x01\x02\x03", ""},
		{"GPOS", `(1 2 3`, "\x02(1\x012\x013", ""},
		{"X25", `3110)`, "\x053110)", ""},
		{"TXT", `a (b)`, "\x05a (b)", "\x05a (b)"},
		{"CAA", `0 issue "ca(x)"`, "\x00\x05issueca(x)", "\x00\x05issueca(x)"},
		{"HINFO", `"(a)" "b"`, "\x03(a)\x01b", "\x03(a)\x01b"},
		{"SVCB", `1 . key667=a\)`, "\x00\x01\x00\x02\x9b\x00\x02a)", "\x00\x01\x00\x02\x9b\x00\x02a)"},
		{"MX", `(10 mail.)`, "\x00\x0a\x04mail\x00", "\x00\x0a\x04mail\x00"},
	} {
		if data, err := rdata.Pack(c.of, c.text, "example.com"); err != nil || string(data) != c.packed {
			t.Errorf("stored %s %s: %q, %v", c.of, c.text, data, err)
		}
		data, err := rdata.Check(c.of, c.text, "example.com")
		if string(data) != c.kept || (c.kept == "") != errors.Is(err, rdata.ErrParenthesis) {
			t.Errorf("new %s %s: %q, %v", c.of, c.text, data, err)
		}
	}
	for of, text := range map[farm.RecordType]string{
		"CAA": "0 issue ca(x)", "HINFO": "(a) b", "SPF": "v=spf1(a)", "NAPTR": "100 10 S a(b) x .", "HTTPS": "1 . key667=a(b)", "TXT": `"a" b(c)`,
	} {
		if data, err := rdata.Check(of, text, "example.com"); !errors.Is(err, rdata.ErrParenthesis) {
			t.Errorf("new %s %s: %q, %v", of, text, data, err)
		}
	}
}

// A file in which a stored text has loose parentheses would not load, or have another text.
func TestPortableTextsKeepTheirParentheses(t *testing.T) {
	const want = `URI	10 1 "https://x/A_(b)"`
	if got := rdata.Portable("URI", "10 1 https://x/A_(b)", "example.com"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Earlier versions stored any bytes of types that they did not know. They are served, and only
// new data are checked.
func TestStoredUnknownTypesAreServed(t *testing.T) {
	for _, code := range []int{11, 22, 34, 38, 40, 66, 67, 68, 259, 262, 263, 264} {
		refused := false
		for _, want := range [][]byte{{}, {7}, {0, 0, 0}, bytes.Repeat([]byte{200}, 9)} {
			of, text := fmt.Sprintf("TYPE%d", code), fmt.Sprintf(`\# %d %s`, len(want), hex.EncodeToString(want))
			named, _ := rdata.TypeOf(of)
			for _, t2 := range []farm.RecordType{farm.RecordType(of), named} {
				if data, err := rdata.Pack(t2, text, "example.com"); err != nil || !bytes.Equal(data, want) {
					t.Errorf("stored %s %s: %x, %v", t2, text, data, err)
				}
				_, err := rdata.Check(t2, text, "example.com")
				refused = refused || err != nil
			}
		}
		if !refused && code != 67 && code != 68 { // any data are valid
			t.Errorf("new data of type %d are not checked", code)
		}
	}
}
