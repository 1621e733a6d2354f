package marks_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/marks"
)

// These texts are shown to administrators.
func TestKindsAndOutcomesHaveTexts(t *testing.T) {
	for kind, want := range map[marks.Kind]string{
		{Mark: 7}: "mark 7", {Mark: 7, V6: true}: "mark 7 (IPv6)", {Mark: 7, UDP: true}: "mark 7 (UDP)", {Mark: 7, V6: true, UDP: true}: "mark 7 (UDP, IPv6)",
		{Mark: marks.Transparent}: "any source address", {Mark: marks.Transparent, UDP: true}: "any source address (UDP)",
	} {
		if got := kind.String(); got != want {
			t.Errorf("%+v: %q, want %q", kind, got, want)
		}
	}
	for code, want := range map[marks.Code]string{
		marks.Made: "made", marks.NotPermitted: marks.ErrNotPermitted.Error(), marks.NoFamily: marks.ErrFamily.Error(),
		marks.TooMany: marks.ErrTooMany.Error(), marks.Unneeded: marks.ErrUnneeded.Error(),
		marks.Failed: "netd cannot make sockets with a mark: its log says why",
	} {
		if got := code.String(); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
	for mark, own := range map[uint32]bool{0: false, marks.FirstOwn - 1: false, marks.FirstOwn: true, marks.Transparent: true, marks.LastOwn: true, marks.LastOwn + 1: false} {
		if marks.Own(mark) != own {
			t.Errorf("%#x is one of farms: got %t, want %t", mark, !own, own)
		}
	}
}
