package protocolmux

import (
	"net"
	"sync"
)

// queue is a listener whose connections are handed to it.
type queue struct {
	from   net.Listener
	conns  chan net.Conn
	closed chan struct{} // of both queues
	once   *sync.Once    // closes it
}

// Accept returns the next connection, net.ErrClosed after Close.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener that is divided: both queues return what they have and then net.ErrClosed.
func (q *queue) Close() (err error) {
	q.once.Do(func() {
		close(q.closed)
		err = q.from.Close()
	})
	return err
}

// Addr is the address of the listener that is divided.
func (q *queue) Addr() net.Addr { return q.from.Addr() }
