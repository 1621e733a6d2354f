package metrics

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

const (
	// scrapesAtOnce is how many scrapes may run at a time, scrapeTime how long each may
	// take.
	scrapesAtOnce = 4
	scrapeTime    = 20 * time.Second
)

// Handler answers scrapes in the text format, or in another one requested by the scraper,
// with gzip if the scraper accepts it. The query parameter backends selects the series of
// backends (detail). Handler does not check permissions.
//
// The families of single backends are written one after the other (backendSeries): for ten
// thousand backends they are 80 MB of text, and several times that as objects.
func Handler(o Options) http.Handler {
	h := &handler{collector: newCollector(o), rest: map[detail]*prometheus.Registry{}, room: make(chan struct{}, scrapesAtOnce)}
	for _, d := range details {
		h.rest[d] = registry(o, d)
	}
	return gzhttp.GzipHandler(h)
}

type handler struct {
	collector *collector
	rest      map[detail]*prometheus.Registry // everything except the series of single backends
	room      chan struct{}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := detail(cmp.Or(r.URL.Query().Get("backends"), string(eachBackend)))
	rest, known := h.rest[d]
	if !known {
		http.Error(w, fmt.Sprintf("backends=%q: allowed are %s", d, words(details)), http.StatusBadRequest)
		return
	}
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, fmt.Sprintf("%d scrapes are in progress, the most at once: try again", scrapesAtOnce), http.StatusServiceUnavailable)
		return
	}
	// A stalled scraper must lose its place.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeTime))
	h.write(w, r, rest, d)
}

func (h *handler) write(w http.ResponseWriter, r *http.Request, rest *prometheus.Registry, d detail) {
	families, err := rest.Gather() // with an error, those that could be gathered
	if err != nil && len(families) == 0 {
		http.Error(w, fmt.Sprintf("the metrics could not be gathered: %v", err), http.StatusInternalServerError)
		return
	}
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
	w.Header().Set("Content-Type", string(format))
	out := expfmt.NewEncoder(w, format)
	for _, f := range families {
		if out.Encode(f) != nil {
			return // the scraper has gone
		}
	}
	if d == eachBackend {
		_ = newBackendSeries(h.collector).write(out)
	}
}
