package marks_test

import (
	"bytes"
	"testing"

	"github.com/sluicelb/sluice/core/marks"
)

func TestMessagesRoundTrip(t *testing.T) {
	for _, k := range []marks.Kind{{Mark: 1}, {Mark: 1<<32 - 1, V6: true}, {Mark: 1, UDP: true}, {Mark: 2, V6: true, UDP: true}, {Mark: marks.Transparent}, {Mark: marks.FirstOwn - 1}, {Mark: marks.LastOwn + 1}} {
		for _, count := range []int{1, marks.MaxCount} {
			want := marks.Request{Number: 7, Kind: k, Count: count}
			if got, err := marks.ParseRequest(want.AppendTo(nil)); err != nil || got != want {
				t.Errorf("%+v was decoded as %+v, %v", want, got, err)
			}
			made := marks.Answer{Number: 1<<32 - 1, Kind: k, Count: count}
			if got, err := marks.ParseAnswer(made.AppendTo(nil)); err != nil || got != made {
				t.Errorf("%+v was decoded as %+v, %v", made, got, err)
			}
		}
	}
}

// refusedRequests returns requests that differ from a valid one in one byte.
func refusedRequests() map[string][]byte {
	good := marks.Request{Number: 1, Kind: marks.Kind{Mark: 7}, Count: 1}.AppendTo(nil)
	with := func(at int, b byte) []byte { m := bytes.Clone(good); m[at] = b; return m }
	return map[string][]byte{
		"nothing": nil, "too short": good[:15], "too long": append(bytes.Clone(good), 0),
		"another version": with(3, '2'), "no mark": with(11, 0), "no IP version": with(12, 5), "a unix socket": with(12, 1),
		"a mark of farms": with(8, 0x5c), "routing of answers": marks.Request{Kind: marks.Kind{Mark: marks.Transparent + 1}, Count: 1}.AppendTo(nil),
		"another kind of socket": with(13, 2), "flags": with(14, 1), "no sockets": with(15, 0), "too many": with(15, marks.MaxCount+1),
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	for name, b := range refusedRequests() {
		if r, err := marks.ParseRequest(b); err == nil {
			t.Errorf("%s is read as %+v", name, r)
		}
	}
}

func TestAnAnswerHasSocketsOrAReason(t *testing.T) {
	for _, a := range []marks.Answer{
		{Kind: marks.Kind{Mark: 7}, Code: marks.Made}, {Kind: marks.Kind{Mark: 7}, Code: marks.NotPermitted, Count: 1},
		{Kind: marks.Kind{Mark: 7}, Code: 200}, {Code: marks.Failed},
	} {
		if got, err := marks.ParseAnswer(a.AppendTo(nil)); err == nil {
			t.Errorf("%+v is read as %+v", a, got)
		}
	}
}

// A valid message re-encodes to the same bytes, so it contains no hidden data.
func FuzzMessages(f *testing.F) {
	f.Add(marks.Request{Number: 1, Kind: marks.Kind{Mark: 7}, Count: 64}.AppendTo(nil))
	f.Add(marks.Answer{Number: 1, Kind: marks.Kind{Mark: 7, V6: true}, Code: marks.TooMany}.AppendTo(nil))
	f.Add(marks.Request{Number: 1, Kind: marks.Kind{Mark: 7, UDP: true}, Count: 1}.AppendTo(nil))
	for _, b := range refusedRequests() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := marks.ParseRequest(b); err == nil {
			if r.Kind.Mark == 0 || r.Count < 1 || r.Count > marks.MaxCount || !bytes.Equal(r.AppendTo(nil), b) {
				t.Errorf("%x is read as %+v", b, r)
			}
		}
		if a, err := marks.ParseAnswer(b); err == nil {
			if a.Kind.Mark == 0 || (a.Count > 0) != (a.Code == marks.Made) || !bytes.Equal(a.AppendTo(nil), b) {
				t.Errorf("%x is read as %+v", b, a)
			}
		}
	})
}
