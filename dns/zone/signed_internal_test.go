package zone

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/dns/wire"
)

// appendNext returns the immediate successor: a name with one more label sorts later (RFC
// 4034 §6.1).
func TestAppendNextReturnsTheImmediateSuccessor(t *testing.T) {
	label := func(n int, fill byte) []byte { return append([]byte{byte(n)}, bytes.Repeat([]byte{fill}, n)...) }
	long := func(first []byte) []byte {
		name := first
		for len(name) < wire.MaxName-1-64 {
			name = append(name, label(63, 'x')...)
		}
		return append(append(name, label(wire.MaxName-len(name)-2, 'x')...), 0)
	}
	for name, want := range map[string][]byte{
		"\x03www\x00":                      []byte("\x01\x00\x03www\x00"),
		string(long(label(3, 'a'))):        long([]byte("\x03aab")),
		string(long([]byte("\x03aa@"))):    long([]byte("\x03aa[")), // canonical form has no upper case
		string(long([]byte("\x03aa\xff"))): long([]byte("\x03ab\x00")),
	} {
		if got := appendNext(nil, []byte(name)); !bytes.Equal(got, want) {
			t.Errorf("%q is followed by %q, want %q", name, got, want)
		}
		if n := len(appendNext(nil, []byte(name))); n > wire.MaxName {
			t.Errorf("%q is followed by a name of %d bytes", name, n)
		}
	}
}

// Tests the example of RFC 4034 §4.3 and types of other windows.
func TestTypeBitmapsMatchNSEC(t *testing.T) {
	var has types
	for _, kind := range []uint16{wire.TypeA, wire.TypeMX, wire.TypeRRSIG, wire.TypeNSEC, 1234} {
		has.add(kind)
	}
	const of1234 = "041b000000000000000000000000000000000000000000000000000020"
	if got := fmt.Sprintf("%x", has.append(nil)); got != "0006400100000003"+of1234 {
		t.Errorf("%s", got)
	}
	has.add(65534)
	has.add(257)
	has.add(1231)
	if got := fmt.Sprintf("%x", has.append(nil)); got != "0006400100000003"+"010140"+of1234[:len(of1234)-4]+"0120"+"ff20"+strings.Repeat("00", 31)+"02" {
		t.Errorf("with others: %s", got)
	}
	has.remove(wire.TypeA)
	has.remove(1234)
	has.remove(1231)
	has.remove(65534)
	has.remove(65533)
	if got := fmt.Sprintf("%x", has.append(nil)); got != "0006000100000003"+"010140" {
		t.Errorf("without them: %s", got)
	}
	for kind := range uint16(100) {
		has.add(1000 + kind) // types beyond maxHigh are ignored
	}
}
