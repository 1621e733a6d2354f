package numbers

import (
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/graph"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/recorder"
)

func (s *Resource) graphOperations() []*rest.Operation {
	if s.deps.Numbers == nil || s.deps.Usage == nil {
		return nil
	}
	out := []*rest.Operation{
		rest.Op(rest.Get, "/graphs", rbac.Open, "List the graphs", s.listGraphs),
		rest.Op(rest.Get, "/graphs/system", rbac.Open, "List the graphs of the machine", s.listSystemGraphs),
		rest.Op(rest.Get, "/graphs/system/disk", rbac.Open, "List the disks that have graphs", s.listDiskGraphs),
		rest.Op(rest.Get, "/graphs/interfaces", rbac.Open, "List the interfaces that have graphs", s.listInterfaceGraphs),
		rest.Op(rest.Get, "/graphs/farms", rbac.Open, "List the farms that have graphs", s.listFarmGraphs),
	}
	for _, of := range []struct {
		path, what string
		drawn      func(*rest.Call) (drawing, error)
	}{
		{"/graphs/system/{graph}", "the machine", s.systemDrawing},
		{"/graphs/system/disk/{disk}", "a disk", s.diskDrawing},
		{"/graphs/interfaces/{interface}", "an interface", s.interfaceDrawing},
		{"/graphs/farms/{farm}", "a farm", s.farmDrawing},
	} {
		out = append(out,
			rest.Op(rest.Get, of.path, rbac.Open, "Get graphs of "+of.what+" over a day, a week, a month and a year", s.allGraphs(of.drawn)),
			rest.Op(rest.Get, of.path+"/{frequency}", rbac.Open, "Get a graph of "+of.what+" over a day, a week, a month or a year", s.oneGraph(of.drawn)),
			rest.Op(rest.Get, of.path+"/custom/start/{start}/end/{end}", rbac.Open, "Get a graph of "+of.what+" between two times", s.customGraph(of.drawn)))
	}
	return out
}

// drawing is the content of a graph.
type drawing struct {
	title, unit string
	object      string
	series      []recorder.Series
}

// choose selects the series with these names.
func choose(list []recorder.Series, names ...string) (out []recorder.Series) {
	for _, name := range names {
		out = append(out, list[slices.IndexFunc(list, func(s recorder.Series) bool { return s.Name == name })])
	}
	return out
}

// systemGraphs lists the graphs of the machine under the family's names.
var systemGraphs = []struct {
	name, title string
	series      []recorder.Series
}{
	{"cpu", "CPU", choose(recorder.OfSystem, "cpu", "cpu_user", "cpu_system", "cpu_softirq", "cpu_iowait")},
	{"load", "Load", choose(recorder.OfSystem, "load_1", "load_5", "load_15")},
	{"ram", "Memory", choose(recorder.OfSystem, "memory_used", "memory_cached", "memory_buffers")},
	{"swap", "Swap", choose(recorder.OfSystem, "swap_used")},
}

func (s *Resource) systemDrawing(c *rest.Call) (drawing, error) {
	var names []string
	for _, g := range systemGraphs {
		if names = append(names, g.name); g.name == c.Param("graph") {
			return drawing{g.title, g.series[0].Unit, recorder.System, g.series}, nil
		}
	}
	return drawing{}, rest.NotFound("the graph %s does not exist: there are %s and disk", rest.Quote(c.Param("graph")), strings.Join(names, ", "))
}

func (s *Resource) interfaceDrawing(c *rest.Call) (drawing, error) {
	name, err := s.interfaceNamed(c.Param("interface"))
	return drawing{"Interface " + name, recorder.OfInterfaces[0].Unit, recorder.Interface(name), recorder.OfInterfaces}, err
}

func (s *Resource) farmDrawing(c *rest.Call) (drawing, error) {
	f, err := c.Farm()
	if err != nil {
		return drawing{}, err
	}
	series := graphed(f)
	return drawing{"Farm " + f.Name, series[0].Unit, recorder.Farm(f.ID), series}, nil
}

// graphed returns the most informative series of a farm that share a unit.
func graphed(f *farm.Farm) []recorder.Series {
	if f.Carries() != farm.TrafficConnections {
		return choose(recorder.OfFarm(f), "requests", "connections", "errors")
	}
	return choose(recorder.OfFarm(f), "established", "pending")
}

// diskName returns the family's name of a disk in paths, with a tilde for each inner slash
// (see InDisks).
func diskName(mount string) string {
	return strings.ReplaceAll(strings.TrimSuffix("root"+mount, "/"), "/", "~")
}

// diskPath matches the path of a disk's graphs.
var diskPath = regexp.MustCompile(`^(.*/graphs/system/disk/)(root.*?)/?(/(?:daily|weekly|monthly|yearly)|/custom/start/[^/]*/end/[^/]*)?$`)

// InDisks normalises the mount point in the path of a disk's graphs to one segment. A mount
// point may have several segments, and that of the root ends in a slash.
func InDisks(r *http.Request) *http.Request {
	parts := diskPath.FindStringSubmatch(r.URL.Path)
	if parts == nil || r.URL.RawPath != "" {
		return r
	}
	return rest.Moved(r, r.Method, parts[1]+strings.ReplaceAll(parts[2], "/", "~")+parts[3])
}

func (s *Resource) diskDrawing(c *rest.Call) (drawing, error) {
	for _, d := range s.deps.Usage().Disks {
		if diskName(d.Mount) == c.Param("disk") {
			return drawing{"Disk " + d.Mount, recorder.OfDisks[0].Unit, recorder.Disk(d.Mount), recorder.OfDisks}, nil
		}
	}
	return drawing{}, rest.NotFound("the disk %s does not exist: there are %s", rest.Quote(strings.ReplaceAll(c.Param("disk"), "~", "/")), strings.Join(s.disks(), ", "))
}

func (s *Resource) disks() []string {
	out := []string{}
	for _, d := range s.deps.Usage().Disks {
		out = append(out, "root"+d.Mount)
	}
	return out
}

// GraphNames lists the available graphs.
type GraphNames struct {
	Description string   `json:"description"`
	System      []any    `json:"system" doc:"Names, and last an object with the disks"`
	Interfaces  []string `json:"interfaces"`
	Farms       []string `json:"farms"`
}

// SystemGraphNames lists the graphs of the machine.
type SystemGraphNames struct {
	Description string `json:"description"`
	System      []any  `json:"system" doc:"Names, and last an object with the disks"`
}

// DiskGraphNames lists the disks with graphs.
type DiskGraphNames struct {
	Description string   `json:"description"`
	Disks       []string `json:"params"`
}

// InterfaceGraphNames lists the interfaces with graphs.
type InterfaceGraphNames struct {
	Description string   `json:"description"`
	Interfaces  []string `json:"interfaces"`
}

// FarmGraphNames lists the farms with graphs.
type FarmGraphNames struct {
	Description string   `json:"description"`
	Farms       []string `json:"farms"`
}

func (s *Resource) graphsOfSystem(disks string) (out []any) {
	for _, g := range systemGraphs {
		out = append(out, g.name)
	}
	return append(out, map[string][]string{disks: s.disks()})
}

func farmNames(c *rest.Call) []string {
	out := []string{}
	for _, f := range c.Farms() {
		out = append(out, f.Name)
	}
	return out
}

func (s *Resource) listGraphs(c *rest.Call) (GraphNames, error) {
	return GraphNames{c.Summary(), s.graphsOfSystem("disks"), s.interfaceNames(), farmNames(c)}, nil
}

func (s *Resource) listSystemGraphs(c *rest.Call) (SystemGraphNames, error) {
	return SystemGraphNames{c.Summary(), s.graphsOfSystem("disk")}, nil
}

func (s *Resource) listDiskGraphs(c *rest.Call) (DiskGraphNames, error) {
	return DiskGraphNames{c.Summary(), s.disks()}, nil
}

func (s *Resource) listInterfaceGraphs(c *rest.Call) (InterfaceGraphNames, error) {
	return InterfaceGraphNames{c.Summary(), s.interfaceNames()}, nil
}

func (s *Resource) listFarmGraphs(c *rest.Call) (FarmGraphNames, error) {
	return FarmGraphNames{c.Summary(), farmNames(c)}, nil
}

// Picture is a graph.
type Picture struct {
	Graph string `json:"graph" doc:"A PNG in base64"`
	Start string `json:"start_time" doc:"As MM-DD-YYYY-hh:mm, in the appliance's time zone"`
	Last  string `json:"last_time"`
}

// FrequentPicture is a graph for one of the frequencies.
type FrequentPicture struct {
	Frequency string `json:"frequency" enum:"daily,weekly,monthly,yearly"`
	Picture
}

// Pictures holds the graphs of an object for a day, a week, a month and a year.
type Pictures struct {
	Description string            `json:"description"`
	Graphs      []FrequentPicture `json:"graphs"`
}

// OnePicture is one graph of an object.
type OnePicture struct {
	Description string `json:"description"`
	Graphs      string `json:"graphs" doc:"A PNG in base64"`
	Start       string `json:"start_time" doc:"As MM-DD-YYYY-hh:mm, in the appliance's time zone"`
	Last        string `json:"last_time"`
}

// frequencies lists the periods of graphs.
var frequencies = []struct {
	name string
	days int
}{{"daily", 1}, {"weekly", 7}, {"monthly", 30}, {"yearly", 365}}

// lately returns the period of that many days ending now.
func (s *Resource) lately(days int) span {
	now := s.deps.Now()
	return span{now.Add(-time.Duration(days) * 24 * time.Hour), now, now}
}

func (s *Resource) allGraphs(drawn func(*rest.Call) (drawing, error)) func(*rest.Call) (Pictures, error) {
	return func(c *rest.Call) (Pictures, error) {
		d, err := drawn(c)
		if err != nil {
			return Pictures{}, err
		}
		out := Pictures{Description: c.Summary()}
		for _, f := range frequencies {
			p, err := s.picture(d, s.lately(f.days))
			if err != nil {
				return Pictures{}, err
			}
			out.Graphs = append(out.Graphs, FrequentPicture{f.name, p})
		}
		return out, nil
	}
}

func (s *Resource) oneGraph(drawn func(*rest.Call) (drawing, error)) func(*rest.Call) (OnePicture, error) {
	return func(c *rest.Call) (OnePicture, error) {
		d, err := drawn(c)
		if err != nil {
			return OnePicture{}, err
		}
		for _, f := range frequencies {
			if f.name == c.Param("frequency") {
				p, err := s.picture(d, s.lately(f.days))
				return OnePicture{c.Summary(), p.Graph, p.Start, p.Last}, err
			}
		}
		return OnePicture{}, rest.NotFound("the frequency %s does not exist: there are daily, weekly, monthly and yearly", rest.Quote(c.Param("frequency")))
	}
}

func (s *Resource) customGraph(drawn func(*rest.Call) (drawing, error)) func(*rest.Call) (OnePicture, error) {
	return func(c *rest.Call) (OnePicture, error) {
		d, err := drawn(c)
		if err != nil {
			return OnePicture{}, err
		}
		at := span{now: s.deps.Now()}
		if at.from, err = graphTime("start", c.Param("start")); err != nil {
			return OnePicture{}, err
		}
		if at.to, err = graphTime("end", c.Param("end")); err != nil {
			return OnePicture{}, err
		}
		if !at.from.Before(at.to) {
			return OnePicture{}, rest.BadRequest("start: it is not before end")
		}
		p, err := s.picture(d, at)
		return OnePicture{c.Summary(), p.Graph, p.Start, p.Last}, err
	}
}

// graphFormat is the family's time format for graphs. The year may have two digits.
const graphFormat = "01-02-2006-15:04"

func graphTime(name, text string) (time.Time, error) {
	for _, format := range []string{graphFormat, "01-02-06-15:04"} {
		if at, err := time.ParseInLocation(format, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, rest.BadRequest("%s: %s is no time, write one like 11-23-2026-12:00 (month, day, year)", name, rest.Quote(text))
}

// picture draws a period of an object.
func (s *Resource) picture(d drawing, at span) (Picture, error) {
	p, err := s.points(d.object, at, seriesNames(d.series))
	if err != nil {
		return Picture{}, err
	}
	of := graph.Picture{Title: d.title, Unit: d.unit, Start: p.Start, Step: p.Step}
	for i, line := range d.series {
		of.Lines = append(of.Lines, graph.Line{Name: line.Name, Values: p.Values[i]})
	}
	png, err := graph.PNG(of)
	if err != nil {
		return Picture{}, err
	}
	return Picture{base64.StdEncoding.EncodeToString(png), p.Start.Format(graphFormat), at.to.Format(graphFormat)}, nil
}
