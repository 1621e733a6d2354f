package api_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/contracttest"
)

func TestExamplesAreOfTheirSchemas(t *testing.T) {
	contracttest.Examples(t, contracttest.Read(t, []byte(newAppliance(t).must(200, "GET", "/openapi.json", "").raw)))
}
