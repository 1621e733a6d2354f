package syslog

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm/fieldtest"
)

// A server that stays the same keeps its connection and queue. Key stands for Roots.
func TestServerSameCoversEveryField(t *testing.T) {
	(&fieldtest.Comparison[Server]{
		Equal:   func(a, b *Server) bool { return a.same(*b) },
		Ignored: []string{"Target.Roots"},
	}).Check(t)
}
