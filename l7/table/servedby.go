package table

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// newServedBy gives each backend the field line that tells clients who served
// them, and the name to look for in answers; empty when nobody is to know.
func newServedBy(s *farm.Service, backends []Backend) (name string, err error) {
	if s.ServedBy == "" {
		return "", nil
	}
	if !http1.Token([]byte(s.ServedBy)) || http1.Fixed([]byte(s.ServedBy)) {
		return "", fmt.Errorf("%q cannot be the name of a field that is added", s.ServedBy)
	}
	for i := range backends {
		b := &backends[i]
		v, ok := http1.CheckValue([]byte(strings.TrimSpace(cmp.Or(b.Alias, b.Origin))))
		if !ok {
			return "", fmt.Errorf("the alias of backend %d is no field value", i)
		}
		b.ServedBy = http1.AppendField(nil, s.ServedBy, v)
	}
	return strings.ToLower(s.ServedBy), nil
}
