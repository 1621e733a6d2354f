package wire_test

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/dns/wire"
)

// raw returns a message from hexadecimal digits; spaces are ignored.
func raw(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	head  = "1234 0100 0001 0000 0000 0000"
	www   = "03777777 07 6578616d706c65 03 636f6d 00" // www.example.com
	isA   = "0001 0001"
	opted = "1234 0100 0001 0000 0000 0001"
)

func opt(options string) string {
	n := len(strings.ReplaceAll(options, " ", "")) / 2
	return "00 0029 1000 00008000 " + hex.EncodeToString([]byte{byte(n >> 8), byte(n)}) + options
}

func TestMessagesAreReadOrRefused(t *testing.T) {
	longest := strings.Repeat("3f"+strings.Repeat("61", 63), 3) + "3d" + strings.Repeat("61", 61) + "00"
	for name, c := range map[string]struct {
		msg     string
		verdict wire.Verdict
		code    wire.Rcode
	}{
		"nothing":                      {"", wire.Drop, 0},
		"half a header":                {"1234 0100 0001", wire.Drop, 0},
		"an answer":                    {"1234 8100 0001 0000 0000 0000" + www + isA, wire.Drop, 0},
		"a question":                   {head + www + isA, wire.Serve, 0},
		"of the root":                  {head + "00" + isA, wire.Serve, 0},
		"the longest name":             {head + longest + isA, wire.Serve, 0},
		"a name of one byte more":      {head + strings.Replace(longest, "3d61", "3e6161", 1) + isA, wire.Fail, wire.FormErr},
		"a label of 64":                {head + "40" + strings.Repeat("61", 64) + "00" + isA, wire.Fail, wire.FormErr},
		"a pointer":                    {head + "c00c" + isA, wire.Fail, wire.FormErr},
		"a name without end":           {head + "03777777", wire.Fail, wire.FormErr},
		"no type":                      {head + www, wire.Fail, wire.FormErr},
		"half a class":                 {head + www + "0001 00", wire.Fail, wire.FormErr},
		"no question":                  {"1234 0100 0000 0000 0000 0000", wire.Fail, wire.FormErr},
		"two questions":                {"1234 0100 0002 0000 0000 0000" + www + isA + www + isA, wire.Fail, wire.FormErr},
		"with an answer":               {"1234 0100 0001 0001 0000 0000" + www + isA, wire.Fail, wire.FormErr},
		"with an authority":            {"1234 0100 0001 0000 0001 0000" + www + isA + "00 0006 0001 00000000 0000", wire.Fail, wire.FormErr},
		"bytes behind it":              {head + www + isA + "00", wire.Fail, wire.FormErr},
		"an update":                    {"1234 2800 0001 0000 0000 0000" + www + isA, wire.Fail, wire.NotImp},
		"a notify":                     {"1234 2000 0001 0000 0000 0000" + www + isA, wire.Fail, wire.NotImp},
		"EDNS":                         {opted + www + isA + opt(""), wire.Serve, 0},
		"EDNS of a name":               {opted + www + isA + "0161" + opt(""), wire.Fail, wire.FormErr},
		"EDNS twice":                   {"1234 0100 0001 0000 0000 0002" + www + isA + opt("") + opt(""), wire.Fail, wire.FormErr},
		"three records":                {"1234 0100 0001 0000 0000 0003" + www + isA + opt("") + "00 0001 0001 00000000 0000" + "00 0001 0001 00000000 0000", wire.Fail, wire.FormErr},
		"EDNS that is missing":         {opted + www + isA, wire.Fail, wire.FormErr},
		"EDNS that is cut":             {opted + www + isA + "00 0029 1000 00008000 0004 0003", wire.Fail, wire.FormErr},
		"an option that is cut":        {opted + www + isA + opt("000a 0008 01020304"), wire.Fail, wire.FormErr},
		"half an option":               {opted + www + isA + opt("000a 00"), wire.Fail, wire.FormErr},
		"an option nobody knows":       {opted + www + isA + opt("fde9 0002 0102"), wire.Serve, 0},
		"a cookie":                     {opted + www + isA + opt("000a 0008 0102030405060708"), wire.Serve, 0},
		"a second cookie of any size":  {opted + www + isA + opt("000a 0008 0102030405060708 000a 0001 01"), wire.Serve, 0},
		"a cookie of 9":                {opted + www + isA + opt("000a 0009 010203040506070809"), wire.Fail, wire.FormErr},
		"a cookie of 15":               {opted + www + isA + opt("000a 000f 010203040506070809101112131415"), wire.Fail, wire.FormErr},
		"a cookie of 41":               {opted + www + isA + opt("000a 0029"+strings.Repeat("01", 41)), wire.Fail, wire.FormErr},
		"a net":                        {opted + www + isA + opt("0008 0007 0001 18 00 c00002"), wire.Serve, 0},
		"no net":                       {opted + www + isA + opt("0008 0004 0001 00 00"), wire.Serve, 0},
		"no family":                    {opted + www + isA + opt("0008 0004 0000 00 00"), wire.Serve, 0},
		"a net of family 0":            {opted + www + isA + opt("0008 0005 0000 08 00 0a"), wire.Fail, wire.FormErr},
		"a net of IPv6":                {opted + www + isA + opt("0008 000b 0002 38 00 20010db8000100"), wire.Serve, 0},
		"a net with bits behind":       {opted + www + isA + opt("0008 0007 0001 17 00 c00003"), wire.Fail, wire.FormErr},
		"a net of too many bytes":      {opted + www + isA + opt("0008 0008 0001 18 00 c0000200"), wire.Fail, wire.FormErr},
		"a net of too few bytes":       {opted + www + isA + opt("0008 0006 0001 18 00 c000"), wire.Fail, wire.FormErr},
		"a net of 33 bits":             {opted + www + isA + opt("0008 0009 0001 21 00 c000020000"), wire.Fail, wire.FormErr},
		"a net with a scope":           {opted + www + isA + opt("0008 0007 0001 18 18 c00002"), wire.Fail, wire.FormErr},
		"a net of no family":           {opted + www + isA + opt("0008 0007 0003 18 00 c00002"), wire.Fail, wire.FormErr},
		"a signature in front of EDNS": {"1234 0100 0001 0000 0000 0002" + www + isA + "00 00fa 00ff 00000000 0000" + opt(""), wire.Fail, wire.FormErr},
		"a signature":                  {"1234 0100 0001 0000 0000 0002" + www + isA + opt("") + "00 00fa 00ff 00000000 0000", wire.Serve, 0},
		"a loop of pointers":           {opted + www + isA + "c01c" + "0001 0001 00000000 0000", wire.Serve, 0},
	} {
		var q wire.Query
		verdict, code := q.Parse(raw(t, c.msg))
		if verdict != c.verdict || code != c.code {
			t.Errorf("%s: %v %v", name, verdict, code)
		}
	}
}

func TestQueryNamesAreLowercased(t *testing.T) {
	var q wire.Query
	q.Parse(raw(t, opted+"03575777 07 6578416d706c65 03 636f4d 00"+isA+opt("0003 0000 0008 0007 0001 18 00 c00002")))
	if string(q.Name()) != "\x03www\x07example\x03com\x00" || q.Labels() != 3 || q.Label(1) != 4 || q.Label(3) != 16 {
		t.Errorf("%q, %d labels", q.Name(), q.Labels())
	}
	if q.ID != 0x1234 || q.Type != 1 || q.Class != 1 || q.Question != 33 || !q.EDNS || !q.DO || !q.NSID || q.Room != wire.LargestUDP {
		t.Errorf("%+v", q)
	}
	if q.Subnet != netip.MustParsePrefix("192.0.2.0/24") || q.From() != netip.MustParseAddr("192.0.2.0") {
		t.Errorf("net %v", q.Subnet)
	}
	q.Client = netip.MustParseAddr("198.51.100.1")
	q.Parse(raw(t, head+www+isA))
	if q.EDNS || q.DO || q.NSID || q.HasSubnet || q.Room != wire.PlainUDP || q.From() != q.Client {
		t.Errorf("the one before it is left: %+v", q)
	}
	q.Parse(raw(t, opted+www+isA+"00 0029 0100 00000000 0000"))
	if q.Room != wire.PlainUDP || q.DO {
		t.Errorf("room for %d", q.Room)
	}
	q.Parse(raw(t, opted+www+isA+"00 0029 0300 00010000 0000"))
	if q.Room != 0x300 || q.Version() != 1 {
		t.Errorf("room for %d, version %d", q.Room, q.Version())
	}
}

func TestFailuresEchoNoQuestion(t *testing.T) {
	var q wire.Query
	msg := raw(t, "1234 2910 0002 0000 0000 0000"+www+isA)
	verdict, code := q.Parse(msg)
	if verdict != wire.Fail {
		t.Fatal(verdict)
	}
	if got := wire.Failure(&q, code, &wire.Server{}, nil); !bytes.Equal(got, raw(t, "1234 a904 0000 0000 0000 0000")) {
		t.Errorf("%x", got)
	}
}

// Failures contain EDNS if the query does and can be parsed so far. Of the options only a
// cookie is returned.
func TestFailuresHaveEDNSIfTheQueryHas(t *testing.T) {
	const plain, bare, one = "00 0029 04d0 00000000 0000", "00 0029 04d0 00008000 0000", "1234 0100 0001 0000 0000 0001"
	for name, c := range map[string]struct{ msg, head, want string }{
		"a net of no family":          {one + www + isA + opt("0008 0007 0003 18 00 c00002 0003 0000"), "8101", bare},
		"without DO":                  {one + www + isA + "00 0029 1000 00000000 000b 0008 0007 0003 18 00 c00002", "8101", plain},
		"an opcode nobody knows":      {"1234 7900 0001 0000 0000 0001" + www + isA + opt(""), "f904", bare},
		"an update of two records":    {"1234 2800 0001 0001 0001 0001" + www + "0006 0001" + "c00c 00ff 00ff 00000000 0000" + "c00c 0001 0001 00000e10 0004 c0000201" + opt(""), "a804", bare},
		"two questions":               {"1234 0100 0002 0000 0000 0001" + www + isA + www + isA + opt(""), "8101", bare},
		"no question":                 {"1234 0100 0000 0000 0000 0001" + opt(""), "8101", bare},
		"bytes behind it":             {one + www + isA + opt("") + "00", "8101", bare},
		"EDNS twice":                  {"1234 0100 0001 0000 0000 0002" + www + isA + opt("") + opt(""), "8101", bare},
		"no EDNS":                     {"1234 7900 0001 0000 0000 0000" + www + isA, "f904", ""},
		"EDNS that is no additional":  {"1234 0100 0001 0001 0000 0000" + www + isA + opt(""), "8101", ""},
		"EDNS of a name":              {one + www + isA + "0161" + opt(""), "8101", ""},
		"EDNS that is cut":            {one + www + isA + "00 0029 1000 00008000 0004 0003", "8101", ""},
		"an option that is cut":       {one + www + isA + opt("000a 0008 0102030405060708 000a 0008 01020304"), "8101", ""},
		"half an option":              {one + www + isA + opt("000a 00"), "8101", ""},
		"a question that is cut":      {"1234 7900 0001 0000 0000 0001" + "03777777", "f904", ""},
		"half a type":                 {"1234 7900 0001 0000 0000 0001" + www + "0001 00", "f904", ""},
		"a record that is cut":        {"1234 7900 0001 0001 0000 0001" + www + isA + "00 0001 0001 00000000 0044", "f904", ""},
		"a cookie of 9":               {one + www + isA + opt("000a 0009 010203040506070809 000a 0008 0102030405060708"), "8101", bare},
		"a pointer where the name is": {one + "ff" + www + isA + opt(""), "8101", ""},
	} {
		var q wire.Query
		verdict, code := q.Parse(raw(t, c.msg))
		if verdict != wire.Fail {
			t.Fatalf("%s: got %v, want %v", name, verdict, wire.Fail)
		}
		count := "0000"
		if c.want != "" {
			count = "0001"
		}
		want := raw(t, "1234"+c.head+"0000 0000 0000"+count+c.want)
		if got := wire.Failure(&q, code, &wire.Server{NSID: "one"}, nil); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", name, got, want)
		}
	}
	var q wire.Query
	q.Client = netip.MustParseAddr("192.0.2.1")
	_, code := q.Parse(raw(t, one+www+isA+opt("000a 0008 0102030405060708 0008 0007 0003 18 00 c00002 000c 0000")))
	got := wire.Failure(&q, code, &wire.Server{}, nil)
	if want := raw(t, "1234 8101 0000 0000 0000 0001 00 0029 04d0 00008000 001c 000a 0018 0102030405060708 01000000"); len(got) != 12+11+28 || !bytes.HasPrefix(got, want) {
		t.Errorf("with a cookie: %x", got)
	}
	q.TLS = true
	if got = wire.Failure(&q, code, &wire.Server{}, nil); len(got) != 468 {
		t.Errorf("padded to %d bytes", len(got))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{head + www + isA, opted + www + isA + opt("000a 0008 0102030405060708"), opted + www + isA + opt("0008 0007 0001 18 00 c00002")} {
		f.Add(raw(f, s))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var q wire.Query
		q.Client = netip.MustParseAddr("192.0.2.1")
		s := wire.Server{NSID: "a"}
		verdict, code := q.Parse(msg)
		if verdict == wire.Fail {
			if out := wire.Failure(&q, code, &s, nil); len(out) > 12 && len(out) > len(msg)+16 {
				t.Fatalf("%x for %x", out, msg)
			}
		}
		if verdict != wire.Serve {
			return
		}
		if q.Question > len(msg) || q.Labels() > wire.MaxLabels || q.Name()[q.Label(q.Labels())] != 0 {
			t.Fatalf("%+v", q)
		}
		q.Serial(msg)
		s.Verify(&q)
		var r wire.Reply
		r.Begin(&q, msg, make([]byte, 0, 4096), q.Room)
		r.More, r.Rcode = wire.NotReady, wire.BadVers
		if out := r.End(&q, &s); len(out) > max(q.Room, q.Question+wire.HeaderSize+128) {
			t.Fatalf("%d bytes for %d", len(out), q.Room)
		}
	})
}
