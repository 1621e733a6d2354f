package table_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

const (
	token = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA" // RFC 8555 section 8.3
	proof = token + ".9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI"
)

// challenge replaces the farm by one with or without the challenge.
func challenge(a *l7test.Appliance, challenges ...farm.Challenge) {
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}, Certificates: a.Certificates, Challenges: challenges})
}

func TestEngineAnswersChallenges(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.Verbs = farm.VerbsStandard }, l7test.Service("web", b.Addr)))
	path := farm.ChallengePath + token
	if res := c.Send(l7test.Get(path)).Get(); res.Text != "ok" {
		t.Fatalf("without a challenge: got %d %q, want the backend's answer", res.StatusCode, res.Text)
	}
	challenge(a, farm.Challenge{Token: token, Answer: proof})
	for range 2 { // the connection stays open
		if res := c.Send(l7test.Get(path)).Get(); res.StatusCode != 200 || res.Text != proof {
			t.Fatalf("got %d %q", res.StatusCode, res.Text)
		}
	}
	res := c.Send("HEAD " + path + " HTTP/1.1\r\nHost: any.test\r\n\r\n").Response("HEAD")
	if res.StatusCode != 200 || res.ContentLength != int64(len(proof)) || res.Text != "" {
		t.Errorf("HEAD: got %d, %d bytes announced, body %q", res.StatusCode, res.ContentLength, res.Text)
	}
	for _, other := range []string{path + "x", path[:len(path)-1], path + "?a=1", farm.ChallengePath, "/", "/a" + path} {
		if res := c.Send(l7test.Get(other)).Get(); res.Text != "ok" {
			t.Errorf("%s: got %d %q, want the backend's answer", other, res.StatusCode, res.Text)
		}
	}
	if res := c.Send("POST " + path + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx").Get(); res.Text != "ok" {
		t.Errorf("POST: got %d %q, want the backend's answer", res.StatusCode, res.Text)
	}
	challenge(a)
	if res := c.Send(l7test.Get(path)).Get(); res.Text != "ok" {
		t.Errorf("after the challenge: got %d %q, want the backend's answer", res.StatusCode, res.Text)
	}
}

func TestAFarmWithoutServicesAnswersAChallenge(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 2)
	addr := a.Serve(nil)
	challenge(a, farm.Challenge{Token: token, Answer: proof})
	c := l7test.Dial(t, addr)
	if res := c.Send(l7test.Get(farm.ChallengePath + token)).Get(); res.Text != proof {
		t.Errorf("got %d %q, want %q", res.StatusCode, res.Text, proof)
	}
	if res := c.Send(l7test.Get("/")).Get(); res.StatusCode != 503 {
		t.Errorf("got %d %q, want 503", res.StatusCode, res.Text)
	}
}

func TestHTTP2AnswersAChallengeToo(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		challenge(a, farm.Challenge{Token: token, Answer: proof})
		res, err := c.Get(url + farm.ChallengePath + token)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || string(body) != proof {
			t.Errorf("got %d %q, %v", res.StatusCode, body, err)
		}
		res.Body.Close()
	})
}
