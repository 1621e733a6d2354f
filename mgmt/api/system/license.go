package system

import (
	"html"

	"github.com/sluicelb/sluice"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// license is the text about the licence: none has been chosen for Sluice yet.
var license = `Sluice has no licence yet: its owner has to choose one. Until then this text grants
nobody any rights. What follows are the licences of the libraries it is made with.

` + sluice.Notice

func (s *Resource) licenseOperations() []*rest.Operation {
	const summary = "Get the licence of Sluice and those of its libraries"
	return []*rest.Operation{
		rest.File(rest.Get, "/system/license/txt", rbac.Open, summary, "text/plain; charset=utf-8", func(*rest.Call) ([]byte, error) {
			return []byte(license), nil
		}),
		rest.File(rest.Get, "/system/license/html", rbac.Open, summary, rest.PageType, func(*rest.Call) ([]byte, error) {
			return []byte("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Licence of Sluice</title></head><body><pre>" + html.EscapeString(license) + "</pre></body></html>\n"), nil
		}),
	}
}
