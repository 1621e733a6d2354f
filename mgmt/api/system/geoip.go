package system

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	places "github.com/sluicelb/sluice/core/geoip"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/geoip"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// GeoIP stores the location database; *geoip.Store implements it.
type GeoIP interface {
	Info() (geoip.Info, error)
	Upload(by string, body io.Reader, now time.Time) (geoip.Info, error)
	Remove() error
	Table() *places.Table
}

// mmdbTypes are the content types of uploads.
var mmdbTypes = []string{"application/octet-stream", "application/vnd.maxmind.maxmind-db"}

// geoipTime bounds an upload.
const geoipTime = 10 * time.Minute

func (s *Resource) geoipOperations() []*rest.Operation {
	if s.deps.GeoIP == nil {
		return nil
	}
	const path = "/system/geoip"
	return []*rest.Operation{
		rest.Op(rest.Get, path, rbac.SystemMenu, "Get the GeoIP database", s.getGeoIP),
		rest.Op(rest.Put, path, rbac.SystemModify, "Upload a GeoIP database in the MaxMind DB format", s.uploadGeoIP).TakesFile(mmdbTypes),
		rest.Op(rest.Delete, path, rbac.SystemModify, "Delete the GeoIP database", s.deleteGeoIP),
		rest.Op(rest.Get, path+"/{address}", rbac.SystemMenu, "Look up the location of an address", s.findPlace),
	}
}

// GeoIPView describes the location database.
type GeoIPView struct {
	Installed   string `json:"installed" enum:"true,false" doc:"true if one exists"`
	Kind        string `json:"kind,omitempty" doc:"Reported name"`
	Built       string `json:"built,omitempty" doc:"Build time of the database"`
	Uploaded    string `json:"uploaded,omitempty" doc:"Upload time"`
	By          string `json:"by,omitempty" doc:"User who uploaded it"`
	Countries   int    `json:"countries_known,omitempty" doc:"Number of countries in the database"`
	Nets4       int    `json:"nets_ipv4,omitempty" doc:"Number of IPv4 networks in the database"`
	Nets6       int    `json:"nets_ipv6,omitempty" doc:"Number of IPv6 networks in the database"`
	Coordinates string `json:"has_coordinates,omitempty" enum:"true,false" doc:"true if it contains coordinates, which algorithm nearest needs"`
}

func viewGeoIP(i geoip.Info) GeoIPView {
	v := GeoIPView{Installed: "true", Kind: i.Kind, Uploaded: i.Uploaded.UTC().Format(time.RFC3339), By: i.By, Countries: i.Countries, Nets4: i.Ranges4, Nets6: i.Ranges6, Coordinates: rest.Truth(i.Located)}
	if !i.Built.IsZero() {
		v.Built = i.Built.UTC().Format(time.RFC3339)
	}
	return v
}

func (s *Resource) getGeoIP(c *rest.Call) (rest.Object[GeoIPView], error) {
	i, err := s.deps.GeoIP.Info()
	v := viewGeoIP(i)
	if errors.Is(err, geoip.ErrNone) {
		v = GeoIPView{Installed: "false"}
	}
	return rest.Object[GeoIPView]{Description: c.Summary(), Params: v}, nil
}

func (s *Resource) uploadGeoIP(c *rest.Call) (rest.Object[GeoIPView], error) {
	var none rest.Object[GeoIPView]
	upload, err := c.Upload(geoip.MaxSize, mmdbTypes)
	if err == nil {
		err = c.Act()
	}
	if err != nil {
		return none, err
	}
	c.MayTake(geoipTime)
	i, err := s.deps.GeoIP.Upload(c.Author().Name, upload.Body, s.deps.Now())
	var wrong *geoip.Error
	if errors.As(err, &wrong) {
		err = rest.BadRequest("the GeoIP database is not taken: %s", wrong)
	}
	if err = upload.Problem(err); err != nil {
		return none, err
	}
	return rest.Object[GeoIPView]{Description: c.Summary(), Params: viewGeoIP(i), Message: fmt.Sprintf("The GeoIP database %s is in use: %d countries.", i.Kind, i.Countries)}, nil
}

func (s *Resource) deleteGeoIP(c *rest.Call) (rest.Done, error) {
	if user := placesUsed(c.Config); user != "" {
		return rest.Done{}, rest.BadRequest("the GeoIP database is used by %s: change that first", user)
	}
	if _, err := s.deps.GeoIP.Info(); err != nil {
		return rest.Done{}, rest.NotFound("%s", err)
	}
	if _, err := c.Expected(); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.Applier.Renew(c.Context, s.removePlaces); err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(c.Summary(), "The GeoIP database has been deleted."), nil
}

// removePlaces deletes the database while no change can begin to use it. A pending change
// must be able to return to a configuration that uses it. A dry run ends after these checks.
func (s *Resource) removePlaces(cfg *farm.Config) (apply.Renewal, error) {
	if placesUsed(cfg) != "" {
		return apply.Renewal{}, rest.BadRequest("a change that was just made uses the GeoIP database")
	}
	back, err := s.deps.Applier.WayBack()
	if err == nil && back != nil && placesUsed(back) != "" {
		err = rest.BadRequest("a pending change stops using the GeoIP database, and would need it again if it is not confirmed: confirm or revert it first")
	}
	return apply.Renewal{Swap: func() {}, Undo: func() {}, Keep: s.deps.GeoIP.Remove}, err
}

// placesUsed names the first service that selects backends by client location.
func placesUsed(cfg *farm.Config) string {
	for i := range cfg.Farms {
		if s := cfg.Farms[i].ChoosesByPlace(false); s != nil {
			return fmt.Sprintf("the service %s of the farm %s", s.Name, cfg.Farms[i].Name)
		}
	}
	return ""
}

// PlaceView is the location of an address.
type PlaceView struct {
	Address     string `json:"address"`
	Known       string `json:"known" enum:"true,false" doc:"true if the database contains the address"`
	Country     string `json:"country,omitempty" doc:"ISO 3166-1"`
	Continent   string `json:"continent,omitempty" enum:"AF,AN,AS,EU,NA,OC,SA" doc:"Africa, Antarctica, Asia, Europe, North America, Oceania, South America"`
	Coordinates string `json:"coordinates,omitempty" doc:"Latitude and longitude in degrees"`
	Net         string `json:"net" doc:"The capture is complete"`
}

func (s *Resource) findPlace(c *rest.Call) (rest.Object[PlaceView], error) {
	var none rest.Object[PlaceView]
	a, err := netip.ParseAddr(c.Param("address"))
	if err != nil || a.Zone() != "" {
		return none, rest.BadRequest("%s is no address: send one as 192.0.2.1", rest.Quote(c.Param("address")))
	}
	table := s.deps.GeoIP.Table()
	if table == nil {
		return none, rest.Refuse(http.StatusNotFound, "%s", geoip.ErrNone)
	}
	a = a.Unmap()
	p, bits := table.Find(a)
	net, err := a.Prefix(bits)
	if err != nil {
		return none, err
	}
	v := PlaceView{Address: a.String(), Known: rest.Truth(p != places.Place{}), Country: p.Country.String(), Continent: p.Continent.String(), Net: net.String()}
	if p.Located {
		v.Coordinates = fmt.Sprintf("%.4f,%.4f", p.Latitude, p.Longitude)
	}
	return rest.Object[PlaceView]{Description: c.Summary(), Params: v}, nil
}
