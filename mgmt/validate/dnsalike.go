package validate

import (
	"reflect"

	"github.com/sluicelb/sluice/core/farm"
)

// sameDNSServices compares what loadWarnings reads.
func sameDNSServices(was, f *farm.Farm) bool {
	return (was.Global == nil) == (f.Global == nil) && (f.Global == nil || reflect.DeepEqual(was.Global.Services, f.Global.Services))
}
