package api_test

import (
	"testing"
)

// The field names of the contract work as filters, too.
func TestListsAreFilteredByTheNamesOfTheContract(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	for _, query := range []string{"name=shop", "farmname=shop", "farmname=sho"} {
		if found, _ := a.must(200, "GET", "/farms?"+query, "").at("params").([]any); len(found) != 1 {
			t.Errorf("%s: %d farms", query, len(found))
		}
	}
}
