/** Where a page breaks while it is drawn: one sentence and ways out in its place, and the rest of the app lives on. */

import { Component, type ComponentChildren } from "preact";
import { tellFailure } from "../house/failures.ts";
import { hrefOf, route } from "../route.ts";
import { words } from "../strings/index.ts";
import { Icon } from "./icon.tsx";

interface BoundaryProperties {
  title?: string; // of a whole page, which has lost its own
  children: ComponentChildren;
}

export class Boundary extends Component<BoundaryProperties> {
  override state = { broken: null as typeof route.value | null }; // where it broke: another page or tab is tried anew

  override componentDidCatch(trouble: unknown): void {
    console.error(trouble);
    void tellFailure(trouble);
    this.setState({ broken: route.peek() });
  }

  render() {
    const { title, children } = this.props;
    if (this.state.broken !== route.value) return children;
    return (
      <div class={title && "page"}>
        {title && <h1>{title}</h1>}
        <div class="empty" role="alert">
          <Icon name="close" size={32} />
          <p>{words.value.trouble.broken}</p>
          <p class="answers">
            <button type="button" class="solid" onClick={() => location.reload()}>
              {words.value.trouble.reload}
            </button>
            {route.value.page !== "talk" && (
              <a class="button plain" href={hrefOf("talk")}>
                {words.value.shell.toTalk}
              </a>
            )}
          </p>
        </div>
      </div>
    );
  }
}
