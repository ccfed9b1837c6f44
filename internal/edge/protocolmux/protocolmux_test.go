package protocolmux

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"pgregory.net/rapid"
)

// serve serves gRPC's health service and a line over HTTP on one port, and returns its address.
func serve(t *testing.T, patience time.Duration) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := New(l, patience)
	g := grpc.NewServer()
	healthv1.RegisterHealthServer(g, health.NewServer())
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	h := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	})}
	ended := make(chan struct{}, 3)
	for _, serve := range []func() error{mux.Serve, func() error { return g.Serve(mux.GRPC()) }, func() error { return h.Serve(mux.HTTP()) }} {
		go func() { _ = serve(); ended <- struct{}{} }()
	}
	t.Cleanup(func() {
		_ = h.Close()
		g.Stop()
		for range 3 {
			<-ended
		}
	})
	return l.Addr().String()
}

func TestOnePort(t *testing.T) {
	t.Parallel()
	address := serve(t, time.Minute)
	t.Run("gRPC reaches gRPC", func(t *testing.T) {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range 3 {
			if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	for name, protocol := range map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"HTTP/2.0": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	} {
		t.Run(name+" reaches HTTP", func(t *testing.T) {
			protocols := &http.Protocols{}
			protocol(protocols)
			client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch} { // P begins HTTP/2's preface too
				r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address, bytes.NewReader(make([]byte, 200<<10)))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/grpc-web")
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || string(body) != name {
					t.Errorf("%s: %q, %v", method, body, err)
				}
			}
		})
	}
}

func TestAClientOfGRPCMayWaitBeforeItsFirstCall(t *testing.T) {
	t.Parallel()
	conn, err := grpc.NewClient(serve(t, 50*time.Millisecond), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Connect()
	for s := conn.GetState(); s != connectivity.Ready; s = conn.GetState() {
		if !conn.WaitForStateChange(t.Context(), s) {
			t.Fatal("never connected")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if conn.WaitForStateChange(ctx, connectivity.Ready) {
		t.Errorf("the connection is %v after the patience passed", conn.GetState())
	}
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
}

func TestWhoSendsNothingIsCutOff(t *testing.T) {
	t.Parallel()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", serve(t, 50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
}

// However frames arrive, exactly the first acknowledgement of settings is taken out of them.
func TestTheFirstAcknowledgementIsTakenOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all, want bytes.Buffer
		all.WriteString(http2.ClientPreface)
		want.WriteString(http2.ClientPreface)
		both := http2.NewFramer(io.MultiWriter(&all, &want), nil)
		alone := http2.NewFramer(&all, nil)
		at, n := rapid.IntRange(0, 5).Draw(t, "at"), rapid.IntRange(0, 8).Draw(t, "frames")
		for i := range max(n, at+1) {
			if i == at {
				_ = alone.WriteSettingsAck()
			}
			switch rapid.IntRange(0, 3).Draw(t, "frame") {
			case 0:
				_ = both.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20})
			case 1:
				_ = both.WriteData(1, false, make([]byte, rapid.IntRange(0, 300).Draw(t, "bytes")))
			case 2:
				_ = both.WritePing(i%2 == 0, [8]byte{1})
			case 3:
				if i >= at {
					_ = both.WriteSettingsAck()
				}
			}
		}
		f, left := &frames{skip: len(http2.ClientPreface)}, all.Bytes()
		var got []byte
		for len(left) > 0 {
			n := rapid.IntRange(1, len(left)).Draw(t, "piece")
			if f.done {
				got = append(got, left[:n]...)
			} else {
				got = append(got, f.withoutAcknowledgement(left[:n])...)
			}
			left = left[n:]
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("got %d bytes, want %d", len(got), want.Len())
		}
	})
}
