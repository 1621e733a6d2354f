// Package graph draws numbers over time as a picture.
package graph

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"sync"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Line is a series.
type Line struct {
	Name string
	// Values has one value for each step; an unknown value is NaN, and a gap in the line.
	Values []float64
}

// Picture is the data of a picture: all lines have one unit, e.g. "%" or "B/s".
type Picture struct {
	Title string
	Unit  string
	Start time.Time
	Step  time.Duration
	Lines []Line
}

// The size of a picture in pixels.
const (
	width  = 600
	height = 220
	dpi    = 96

	fontSize  = vg.Length(8)   // points
	lineWidth = vg.Length(1.5) // points
)

// colours can be distinguished with colour blindness for red or green, too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{0, 0, 0, 255},
}

// one allows only one drawing at a time, since clients can cause any number, and each takes
// some ten milliseconds.
var one sync.Mutex

// PNG draws a picture.
func PNG(p Picture) ([]byte, error) {
	one.Lock()
	defer one.Unlock()
	c := plot.New()
	c.Title.Text = p.Title
	c.Y.Label.Text = p.Unit
	c.Y.Min, c.Y.Max = 0, 1
	c.X.Min, c.X.Max = at(p.Start), at(p.Start)+p.length().Seconds()
	c.X.Tick.Marker = times{p.length()}
	c.Y.Tick.Marker = scaled{}
	c.Legend.Top, c.Legend.Left = true, true
	for _, s := range []*text.Style{&c.Title.TextStyle, &c.X.Tick.Label, &c.Y.Tick.Label, &c.Y.Label.TextStyle, &c.Legend.TextStyle} {
		s.Font.Variant = "Sans"
		s.Font.Size = fontSize
	}
	c.Add(plotter.NewGrid())
	for i, l := range p.Lines {
		if err := addLine(c, l, p, colours[i%len(colours)]); err != nil {
			return nil, fmt.Errorf("draw %s: %w", l.Name, err)
		}
	}
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(width)*vg.Inch/dpi, vg.Length(height)*vg.Inch/dpi), vgimg.UseDPI(dpi))
	c.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func at(t time.Time) float64 { return float64(t.Unix()) }

// length returns the time of all values, and at least a second.
func (p Picture) length() time.Duration {
	n := 1
	for _, l := range p.Lines {
		n = max(n, len(l.Values))
	}
	return max(time.Duration(n)*p.Step, time.Second)
}

// addLine draws a line in its pieces.
func addLine(c *plot.Plot, l Line, p Picture, in color.Color) error {
	for i, piece := range pieces(l, p) {
		line, err := plotter.NewLine(piece)
		if err != nil {
			return err
		}
		line.Color = in
		line.Width = lineWidth
		c.Add(line)
		if i == 0 {
			c.Legend.Add(l.Name, line)
		}
	}
	return nil
}

// pieces returns the parts of a line without a gap. A single value is a short stroke.
func pieces(l Line, p Picture) (out []plotter.XYs) {
	var piece plotter.XYs
	end := func() {
		if len(piece) == 1 {
			piece = append(piece, plotter.XY{X: piece[0].X + p.Step.Seconds(), Y: piece[0].Y})
		}
		if len(piece) > 0 {
			out = append(out, piece)
		}
		piece = nil
	}
	for i, v := range l.Values {
		if math.IsNaN(v) {
			end()
			continue
		}
		piece = append(piece, plotter.XY{X: at(p.Start.Add(time.Duration(i) * p.Step)), Y: v})
	}
	end()
	return out
}

// times marks round times.
type times struct{ length time.Duration }

const (
	day       = 24 * time.Hour
	mostTimes = 9 // marks that have room
)

// apart returns the distance of the marks for times of that length, and their format.
func (t times) apart() (step time.Duration, format string) {
	for _, step := range []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour} {
		if t.length <= mostTimes*step {
			return step, "15:04"
		}
	}
	for _, step := range []time.Duration{day, 7 * day, 30 * day} {
		if t.length <= mostTimes*step {
			return step, "01-02"
		}
	}
	return 61 * day, "2006-01"
}

// Ticks implements plot.Ticker.
func (t times) Ticks(low, high float64) (out []plot.Tick) {
	step, format := t.apart()
	begin := time.Unix(int64(low), 0)
	_, offset := begin.Zone()
	seconds := int64(step / time.Second)
	first := (begin.Unix()+int64(offset)+seconds-1)/seconds*seconds - int64(offset)
	for at := first; float64(at) <= high; at += seconds {
		out = append(out, plot.Tick{Value: float64(at), Label: time.Unix(at, 0).Format(format)})
	}
	return out
}

// scaled writes large numbers in short form: 1.5k, 20M.
type scaled struct{}

// Ticks implements plot.Ticker.
func (scaled) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = short(ticks[i].Value)
		}
	}
	return ticks
}

func short(v float64) string {
	for _, s := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= s.size {
			return fmt.Sprintf("%.4g%s", v/s.size, s.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}
